"""How the numbers that Python and the kernels exchange are laid out: table entries, options, rules and statuses."""

from __future__ import annotations

# A code point's entry (uint32): its image (stored as a difference from the code point, but for LONGER), then flags.
IMAGE = (1 << 21) - 1
KIND = 7 << 21
KEEP = 0 << 21
SPACE = 1 << 21
DELETE = 2 << 21
SIGMA = 3 << 21
LONGER = 4 << 21
WORD = 1 << 24
ALONE = 1 << 25
UNSEEN = 1 << 26
SIGMA_SHIFT = 27
SIGMA_MASK = 3 << SIGMA_SHIFT

# What becomes of a simple code point (uint32): up to three bytes, how many, and whether it stands alone; 0 where it is not simple.
# The table has the code points of one byte first, from `SIMPLE_TWO` on those of two, from `SIMPLE_THREE` on those of three.
SIMPLE = 1 << 31
SIMPLE_ALONE = 1 << 30
SIMPLE_LENGTH = 24
SIMPLE_TWO = 256
SIMPLE_THREE = SIMPLE_TWO + 0x800
SIMPLE_SIZE = SIMPLE_THREE + 0x10000

# Options of a normal form (int64 array).
OPTION_ARABIC = 0
OPTION_RUNS = 1
OPTION_RUN_TO_SPACE = 2
OPTION_EDGES = 3
OPTION_FIRST = 4
OPTION_WIDE = 5
OPTION_LOWER = 6
OPTION_DELETED = 7
OPTION_BLANKED = 8
OPTION_NARROW = 9
OPTIONS = 10

# How far 64 bytes can be cleaned at once (`OPTION_WIDE`).
WIDE_NEVER = 0
WIDE_STRETCHES = 1
WIDE_TEXTS = 2

# Rules of a recipe (int64 array).
RULE_EMPTY_AGREES = 0
RULE_LEAVE_ONE_OUT = 1
RULE_FIRST = 2
RULE_NON_EMPTY = 3
RULE_YES_NO = 4
RULE_CANNOT_ANSWER = 5
#: Predictions of the same bytes may have been different texts before, so that none repeats another.
RULE_DISTINCT = 6
#: How a prediction matches a reference exactly: one of the MATCH_ values.
RULE_MATCH = 7
RULES = 8

# Exact match: the same words; the same bytes; the joined words of one hold the other's; or as a flag says.
MATCH_WORDS = 0
MATCH_VERBATIM = 1
MATCH_CONTAINS = 2
MATCH_GIVEN = 3

# Codes of schema.Status as the kernels use them.
STATUS_OK = 0
STATUS_NO_REFERENCES = 3

# Reference lists of up to so many references, each of up to so many words, are matched all at once.
LANES = 8
LANE_WORDS = 255

#: Two to this power rows of a block are remembered, to find predictions that repeat.
REPEAT_SLOT_BITS = 6
