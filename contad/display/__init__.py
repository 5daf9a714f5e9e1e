"""Tables and pictures for notebooks: HTML and SVG from plain text and numbers, in the page's own colours."""
