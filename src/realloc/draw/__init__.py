"""Pages and figures as plain HTML and SVG: what reports and the console have in common."""
