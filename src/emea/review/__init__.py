"""The page a person decides on: server, decisions, queues, estimates."""
