#!/usr/bin/env python3
"""Turns text into a file of data kind `tokens`, by the tokenizer of a model: a tokenizer.json of Hugging Face.

    python3 -m venv ENV && ENV/bin/pip install tokenizers
    ENV/bin/python text_to_tokens.py MODEL/tokenizer.json train.bin novel.txt essays/

Each text file, of folders those that end in .txt in the order of their names, is one document; --end names the token
behind each (such as "<|endoftext|>"). Numbers are uint16 where the vocabulary has at most 65536 tokens, else uint32.
Files are read in parts of some MiB that end at a line's end. Prints the section `data` for a run file.
"""

import argparse
import array
import json
import os
import pathlib
import sys

PART = 4 << 20  # characters


def text_files(paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from sorted(path.rglob("*.txt"))
        else:
            yield path


def parts_of(path):
    """Parts that end behind a line, so that no token is cut but where a line is longer than a part."""
    with open(path, encoding="utf-8", newline="") as file:
        while text := file.read(PART):
            yield text + file.readline()


def write_tokens(tokenizer, end, files, out, code):
    count = 0
    for path in files:
        for text in parts_of(path):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            array.array(code, ids).tofile(out)
            count += len(ids)
        if end is not None:
            array.array(code, [end]).tofile(out)
            count += 1
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", help="tokenizer.json, or a folder that has one")
    parser.add_argument("out", type=pathlib.Path, help="new file of tokens")
    parser.add_argument("text", nargs="+", help="files, or folders of *.txt")
    parser.add_argument("--end", metavar="TOKEN", help="token behind each document")
    arguments = parser.parse_args()
    try:
        from tokenizers import Tokenizer
    except ImportError:
        sys.exit("text_to_tokens: the package tokenizers is missing: pip install tokenizers")
    path = pathlib.Path(arguments.tokenizer)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        sys.exit(f"text_to_tokens: there is no {path}")
    tokenizer = Tokenizer.from_file(str(path))
    end = None if arguments.end is None else tokenizer.token_to_id(arguments.end)
    if arguments.end is not None and end is None:
        sys.exit(f"text_to_tokens: the tokenizer has no token {arguments.end!r}")
    if arguments.out.exists():
        sys.exit(f"text_to_tokens: {arguments.out} exists")
    files = list(text_files(arguments.text))
    if missing := [str(file) for file in files if not file.is_file()]:
        sys.exit(f"text_to_tokens: there is no {missing[0]}")
    if not files:
        sys.exit("text_to_tokens: no text files")
    size = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    dtype, code = ("uint16", "H") if size <= 65536 else ("uint32", "I")
    part = arguments.out.with_name(arguments.out.name + ".part")
    try:
        with open(part, "xb") as out:
            count = write_tokens(tokenizer, end, files, out, code)
        os.rename(part, arguments.out)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    print(f"{count} tokens of {size} in {len(files)} files", file=sys.stderr)
    print(json.dumps({"kind": "tokens", "path": str(arguments.out), "dtype": dtype}))


if __name__ == "__main__":
    main()
