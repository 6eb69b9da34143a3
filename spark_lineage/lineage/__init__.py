"""lineage"""
