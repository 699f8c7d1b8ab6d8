"""Stage I: the fast orthogonal teacher."""
