"""Values, names and types: from literals to what an encoder or a rule can use."""
