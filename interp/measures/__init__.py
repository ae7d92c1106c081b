"""What attention says: scores of each head from its pattern."""
