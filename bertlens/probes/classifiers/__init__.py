"""Probes that combine all heads (Clark et al. 2019, section 5)."""
