"""calibrant in other people's tools: scikit-learn, pytest, training loops, PyTorch, MLflow, packages that draw.

Those are arviz, sbi, BayesFlow, PyMC and NumPyro. Each module stands alone.
"""
