"""What is differentiated: numbers and arrays that carry a derivative, the stack that records them, trees of them."""
