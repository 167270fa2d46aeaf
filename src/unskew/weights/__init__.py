"""Item weights: from two dates and a policy to weights, what is known about them, and why they are no better."""
