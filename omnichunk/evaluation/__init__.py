"""Proof of retrieval quality: questions with gold spans, configurations side by side, and what each brings to light.

metrics.py      tokens, spans, and what recall, precision and IoU are
corpus.py       documents loaded once; questions from JSON Lines
retrievers.py   BM25, embeddings, and what a retriever is
run.py          evaluate: chunk, index, ask, measure
bootstrap.py    intervals
tune.py         tune: a proposal from one half of the questions, judged on the other
report.py       the table and the data of a report
page.py         its page, with the plots that chart.py draws
"""
