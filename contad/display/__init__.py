"""Tables and pictures for notebooks: HTML and SVG made of plain text and numbers, with the page's own colours."""
