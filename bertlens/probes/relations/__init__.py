"""Single heads as classifiers of dependency relations (Clark et al. 2019, section 4.2)."""
