"""`evenhand embeddings`: look at word vectors, parse them once, and see the alterations of a word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from evenhand.cli import options as shared

if TYPE_CHECKING:
    from evenhand.embeddings import Direction, Vectors

File = Annotated[str, Argument(help="Vectors: text, binary, .npz, .npy, .safetensors, or a built folder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(name="embeddings", no_args_is_help=True, rich_markup_mode=None, help="Word vectors.")
    group.command("info", epilog="Example: evenhand embeddings info glove.txt")(info)
    group.command("build", epilog="Example: evenhand embeddings build glove.txt --out glove.vectors")(build)
    group.command(
        "neighbours",
        epilog="Example: evenhand embeddings neighbours beautiful --embeddings glove.txt --direction"
        " woman-man",
    )(neighbours)
    group.command(
        "test",
        epilog="Example: evenhand embeddings test glove.txt --test weat --query weat-6",
    )(word_test)
    app.add_typer(group)


def info(
    file: File,
    direction: Annotated[list[str] | None, Option(help="Also describe a direction.")] = None,
    vocabulary: shared.Vocabulary = None,
    fold_case: shared.FoldCase = False,
) -> None:
    """Say what is in a file of vectors, and what had to be left out."""
    from evenhand.embeddings import direction as direction_of
    from evenhand.embeddings import vectors
    from evenhand.embeddings.directions import loaded

    found = vectors(file, limit=vocabulary, fold_case=fold_case)
    typer.echo(f"{found.id}: {len(found):,} words, {found.width} dimensions")
    typer.echo(f"first words: {' '.join(found.words[:12])}")
    typer.echo(f"last words:  {' '.join(found.words[-8:])}")
    typer.echo(f"length of a vector: {found.norms.min():.3g} to {found.norms.max():.3g}")
    spaced = sum(" " in w for w in found.words)
    if spaced:
        typer.echo(f"{spaced:,} words hold spaces")
    for problem in found.problems:
        typer.echo(f"note: {problem}")
    for name in direction or []:
        made = direction_of(name, found)
        along, spread = loaded(found, made.step)
        ends = along.argsort()
        typer.echo(f"{made.name}: {made.about}; spread over the vocabulary {spread:.3f}")
        typer.echo(f"  farthest along: {', '.join(found.words[i] for i in ends[::-1][:8])}")
        typer.echo(f"  farthest against: {', '.join(found.words[i] for i in ends[:8])}")


def build(
    file: File,
    out: Annotated[Path, Option(help="Folder that opens in milliseconds afterwards.")],
    vocabulary: shared.Vocabulary = None,
    fold_case: shared.FoldCase = False,
) -> None:
    """Parse a file of vectors once; give the folder wherever vectors are asked for."""
    from evenhand.embeddings import build as build_of
    from evenhand.embeddings import vectors

    found = vectors(file, limit=vocabulary, fold_case=fold_case, cache=False)
    typer.echo(f"Written: {build_of(found, out)} ({len(found):,} words, {found.width} dimensions)")
    for problem in found.problems:
        typer.echo(f"note: {problem}")


def neighbours(
    words: Annotated[list[str], Argument(help="One or more words.")],
    embeddings: Annotated[str, Option(help="File of word vectors.")],
    direction: Annotated[list[str] | None, Option(help="e.g. woman-man; may be repeated.")] = None,
    n: Annotated[int, Option("-n", help="How many.", min=1)] = 10,
    min_similarity: shared.MinSimilarity = 0.5,
    min_gain: shared.MinGain = 0.1,
    plain: Annotated[
        bool, Option("--plain", help="Only by cosine with the shifted vector, without any rule.")
    ] = False,
    approximate: Annotated[
        bool, Option("--approximate", help="With --plain, by an HNSW index; says its measured recall.")
    ] = False,
    save: Annotated[Path | None, Option(help="Also write the dictionary as JSON.")] = None,
    vocabulary: shared.Vocabulary = None,
    fold_case: shared.FoldCase = False,
) -> None:
    """Show which words may stand for a word along a direction, and how similar and how far along they are."""
    from evenhand.embeddings import Rules, alterations, vectors
    from evenhand.embeddings import direction as direction_of

    found = vectors(embeddings, limit=vocabulary, fold_case=fold_case)
    for word in words:
        found.row(word)
    directions = [direction_of(d, found) for d in direction or ["woman-man"]]
    if plain:
        _plain(found, words, directions, n, approximate=approximate)
        return
    rules = Rules(n=n, min_similarity=min_similarity, min_gain=min_gain, function_words=True, max_target=None)
    made = alterations(found, directions, words=words, rules=rules)
    for name, entries in made.entries.items():
        for word, listed in entries.items():
            typer.echo(f"{word} along {name}:" + ("" if listed else " nothing passes the rules"))
            for a in listed:
                typer.echo(
                    f"  {a.word:<20} cosine {a.cosine:.3f}  similarity {a.similarity:.3f}  gain"
                    f" {a.gain:+.2f}  {a.kind}"
                )
    if save is not None:
        made.save(save)
        typer.echo(f"Written: {save}")


def word_test(
    embeddings: Annotated[
        str, Argument(help='A file of word vectors, or "module:attr" of an encoder of sentences.')
    ],
    test: Annotated[str, Option(help="weat, rnd, rnsb, mac, ect or ripa.")] = "weat",
    targets: Annotated[
        list[str] | None,
        Option(
            "--target",
            help="Sets of words whose treatment is in question: shipped names, or files with a word a line."
            " May be repeated.",
        ),
    ] = None,
    attributes: Annotated[
        list[str] | None,
        Option("--attribute", help="Sets of words that they are held against. May be repeated."),
    ] = None,
    query: Annotated[
        str | None,
        Option(help="A published comparison, weat-1 to weat-10, in place of targets and attributes."),
    ] = None,
    alternative: Annotated[str, Option(help="two-sided, greater or less.")] = "two-sided",
    draws: Annotated[int, Option(help="Exchanges drawn where there are too many to try all.", min=1)] = 999,
    placebos: Annotated[
        int, Option(help="Times that random words take the place of the targets.", min=0)
    ] = 99,
    level: Annotated[float, Option(help="Confidence level of the interval.")] = 0.95,
    limit: shared.Vocabulary = None,
    fold_case: shared.FoldCase = False,
    seed: shared.Seed = 0,
    save: Annotated[Path | None, Option(help="Also write what was found as JSON.")] = None,
) -> None:
    """Test whether sets of words lie apart, with intervals over words and random words beside them."""
    import json

    from evenhand._files import write_whole
    from evenhand.embeddings import word_test as tested
    from evenhand.embeddings.word_tests import encoder_of

    found = tested(
        encoder_of(embeddings),
        test,
        targets=targets or (),
        attributes=attributes or (),
        query=query,
        alternative=alternative,
        draws=draws,
        placebos=placebos,
        level=level,
        seed=seed,
        limit=limit,
        fold_case=fold_case,
    )
    if save is not None:
        write_whole(save, json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n")
    for line in found.lines():
        typer.echo(line)
    if save is not None:
        typer.echo(f"Written: {save}")


def _plain(found: Vectors, words: list[str], made: list[Direction], n: int, *, approximate: bool) -> None:
    from evenhand.embeddings.neighbours import nearest

    rows = [found.row(w) for w in words]
    if approximate:
        from evenhand.embeddings.approximate import near

        answer = near(found, rows, [d.step for d in made], n=n)
        typer.echo(f"HNSW index: recall {answer.recall:.3f}, measured on {answer.measured} words")
        results = answer.nearest
    else:
        results = nearest(found, rows, [d.step for d in made], n=n)
    for d, result in zip(made, results, strict=True):
        for word, close, cosine in zip(words, result.rows, result.cosine, strict=True):
            typer.echo(f"{word} along {d.name}:")
            for row, value in zip(close.tolist(), cosine.tolist(), strict=True):
                if row >= 0:
                    typer.echo(f"  {found.words[row]:<20} cosine {value:.3f}")
