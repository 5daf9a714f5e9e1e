"""What every compiled engine shares. It knows Numba and knows no engine; `import contad` imports nothing of it."""
