"""calibrant in other people's tools: scikit-learn, pytest, training loops, MLflow, and draws of arviz, sbi, BayesFlow. Each module stands alone."""
