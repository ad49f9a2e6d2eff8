"""Tolerances, guards and block sizes, defined in one place."""

# Two numbers are tied if they differ by no more than this.
TIED_SCORE = 1e-9  # computed the same way, in double precision
TIED_SIMILARITY = 1e-6  # cosines, and sums of them
TIED_PROBABILITY = 1e-4  # probabilities and their logarithms: a tied similarity times a typical sharpness

# Guards that keep a formula finite.
SMALLEST_DIVISOR = 1e-300  # in double precision
SMALLEST_LENGTH = 1e-12  # under a root or in a denominator, in single precision: keeps the gradient finite
SMALLEST_DOUBT = 1e-9  # smallest 1 − p whose logarithm is taken

# How much is processed at a time: enough to be fast, little enough to fit in memory.
EDGE_BLOCK = 2**20  # edges that the PARIS rule joins
EDGE_PAIR_BLOCK = 2**23  # pairs of edges that the PARIS baseline joins
ATTRIBUTE_BLOCK = 2**21  # pairs of attributes that the disagreement rule compares
EMBEDDING_BLOCK = 2**16  # pairs whose embeddings are multiplied
VALUE_BLOCK = 2**22  # pairs of values that are compared
WORD_BLOCK = 2**21  # pairs of words that are compared
NAME_BLOCK = 2**25  # similarities of names
RANK_BLOCK = 2**25  # similarities of true pairs' sources with all targets
RANKED_ROWS = 2**23  # rows that are ranked within their segments
MARGIN_BLOCK = 8192  # rows of the margin loss
HARDEST_BLOCK = 1024  # rows of the loss over all entities
BUNCH_BLOCK, LARGE_BUNCH_BLOCK = 1024, 2**18  # bunches: what fits in a CPU's cache, what keeps a GPU busy
ON_A_GPU, A_BLOCK = 16, 2**32  # times as much at most on a GPU, whose launches cost time; and its bytes for each
# Beyond these, compiled loops are used on a CPU: they take a second to load.
MANY_ROWS = 2**19
MANY_NUMBERS = 2**24
MANY_AT_ONCE = 2**20  # numbers of what each epoch repeats
