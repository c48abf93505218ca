"""Probes that point: does a head's most attended word answer a question (the syntactic head, the antecedent)?"""
