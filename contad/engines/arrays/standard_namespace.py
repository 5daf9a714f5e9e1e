"""The namespace of the array API standard for variables: its functions, each a NumPy function on variables."""
