"""Trainings and sweeps of trainings, as rows of figures."""
