"""moto's server in a process of its own: prints its port, and ends when its input does."""

import sys

from moto.server import ThreadedMotoServer


def main() -> None:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    sys.stdout.write(f"{server.get_host_and_port()[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
