"""The page on which a person confirms, rejects or corrects links."""
