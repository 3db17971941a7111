"""calibrant in other people's tools: scikit-learn, pytest, training loops, MLflow. Each module stands alone."""
