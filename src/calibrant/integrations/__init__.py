"""calibrant in other people's tools: scikit-learn, pytest, training loops, PyTorch, MLflow, arviz, sbi, BayesFlow.

Each module stands alone.
"""
