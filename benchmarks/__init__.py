"""Side by side with peers, as ratios in one run: `make bench`, or `python -m benchmarks NAME`.

Tests run each of them at a size that measures nothing, so that they keep working.
"""

BENCHMARKS = {
    "amplification": "counting words and resampling images, against a plain loop and the notebook's scan",
    "attack": "neighbours and vectors, against the bare matrix product and gensim",
    "floor": "what nothing can be cheaper than: a read, a sort, a matrix product, a subject called bare",
    "predictions": "the regression table with intervals, against one sort, holisticai and fairlearn",
    "scale": "the engines of large data against a bare scan, the driver's memory, two workers against one",
    "services": "requests a second over a loopback server, against bare aiohttp",
    "spine": "what asking costs beside the model, the journal, and the import",
    "streaming": "a table of any size, read in batches",
    "substitution": "names and terms put into texts, against str.replace and re",
    "verdicts": "judging crossed scores and designs before any data, against a bare variance and statsmodels",
}
"""Name of a module with `run(*, quick) -> figures` → what it measures."""
