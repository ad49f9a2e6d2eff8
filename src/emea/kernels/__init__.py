"""Hot loops over segments, joins and transport; each has a plain twin in the tests."""
