"""Where in the covariates predictions of any kind are off: one search, for a table of residuals."""
