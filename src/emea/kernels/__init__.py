"""Hot loops over segments, joins, edges and transport; the tests check each against a plain version."""
