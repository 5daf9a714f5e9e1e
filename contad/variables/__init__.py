"""The differentiated values: numbers and arrays that carry a derivative, the stack that records them, trees of them."""
