"""Single heads as antecedent selectors (Clark et al. 2019, section 4.3)."""
