"""openlineage"""
