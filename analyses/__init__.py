"""Questions, one runnable script each: `python -m analyses.agreement`."""
