"""Programs between Python and generated text: operations in single assignment, their tables, and a writer of lines."""
