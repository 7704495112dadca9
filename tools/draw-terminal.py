#!/usr/bin/env python3
"""Runs a command on a terminal of its own and draws what is on the screen in the end, as SVG.

    tools/draw-terminal.py OUT.svg COLUMNSxLINES [--for SECONDS] [--type KEYS] -- COMMAND...

With --for, the command is ended after so many seconds, and the screen before that is drawn; --type
types the keys half-way. The command line stands above the screen, as after a prompt. Pictures of the
documentation are made with this script by tools/pictures.sh.
"""
import fcntl
import os
import pty
import re
import select
import shlex
import struct
import sys
import termios
import time
from html import escape

SIZE, ADVANCE, LEADING, MARGIN = 13, 7.8, 17, 14
BACK, TEXT, PROMPT = "#1b1f24", "#e6e8ea", "#8fb3d9"


def run(command, columns, lines, seconds, keys):
    pid, screen = pty.fork()
    if pid == 0:
        os.environ.update(LC_ALL="C.UTF-8", TERM="xterm")
        os.execvp(command[0], command)
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    output, begun, typed = b"", time.monotonic(), False
    while True:
        passed = time.monotonic() - begun
        if seconds and keys and not typed and passed > seconds / 2:
            os.write(screen, keys.encode())
            typed = True
        if seconds and passed > seconds:
            shown = output
            os.write(screen, b"q")
            break
        ready, _, _ = select.select([screen], [], [], 0.1)
        if not ready:
            continue
        try:
            read = os.read(screen, 65536)
        except OSError:  # the other side is closed
            read = b""
        if not read:
            shown = output
            break
        output += read
    os.close(screen)
    os.waitpid(pid, 0)
    return shown.decode()


def last_screen(output):
    """The last whole screen of a program that draws again and again; all of what others print."""
    frames = [frame for frame in output.split("\x1b[H")[1:] if frame.endswith("\x1b[J")]
    text = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", frames[-1] if frames else output)
    # What is drawn over itself, such as progress, shows only its last state.
    return [line.rstrip("\r").split("\r")[-1] for line in text.rstrip().split("\n")]


def prompt(command, columns):
    """The command line, continued where it is wider than the screen."""
    lines, line = [], "$"
    for word in command:
        if len(line) + len(word) + 3 > columns:
            lines.append(line + " \\")
            line = "   "
        line += " " + word
    return lines + [line]


def line_svg(line, y, colour):
    if not line.strip():
        return ""
    indent = len(line) - len(line.lstrip(" "))
    line = line.strip(" ")
    return (f'<text x="{MARGIN + indent * ADVANCE:.1f}" y="{y}" fill="{colour}" xml:space="preserve" '
            f'textLength="{len(line) * ADVANCE:.1f}" lengthAdjust="spacingAndGlyphs">'
            f'{escape(line)}</text>')


def draw(out, command, columns, lines):
    width = columns * ADVANCE + 2 * MARGIN
    above = prompt(command, columns)
    height = (len(above) + len(lines)) * LEADING + 2 * MARGIN
    body = [line_svg(line, MARGIN + SIZE + i * LEADING, PROMPT if i < len(above) else TEXT)
            for i, line in enumerate(above + lines)]
    style = (f"text{{font:{SIZE}px 'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}}")
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
                   f'width="{width:.0f}" height="{height}">\n<style>{style}</style>\n'
                   f'<rect width="{width:.0f}" height="{height}" rx="6" fill="{BACK}"/>\n'
                   + "\n".join(each for each in body if each) + "\n</svg>\n")


def main(out, size, *rest):
    seconds, keys, options = 0.0, "", list(rest)
    while options[0] != "--":
        name, value = options.pop(0), options.pop(0)
        if name == "--for":
            seconds = float(value)
        elif name == "--type":
            keys = value
        else:
            sys.exit(__doc__)
    command = options[1:]
    columns, lines = (int(each) for each in size.split("x"))
    screen = last_screen(run(command, columns, lines, seconds, keys))
    draw(out, [shlex.quote(word) for word in command], columns, screen)


if __name__ == "__main__":
    if len(sys.argv) < 5 or "--" not in sys.argv:
        sys.exit(__doc__)
    main(*sys.argv[1:])
