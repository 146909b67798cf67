"""Runs the model server of llama.cpp with one model, until its standard input ends. Prints its address once it answers.

Usage: real_model_server.py MODEL_FILE NAME PORT, run by the Python that has the packages of real_model.txt. Port 0 is any free one.
The first line of standard input is the key that it wants.
"""
import sys

import xllamacpp

#: Tokens that it reads. The model was made for more; a short window shows that what the server says is what counts.
CONTEXT = 2048


def main():
    file, name, port = sys.argv[1:]
    wanted = xllamacpp.CommonParams()
    wanted.model.path = file
    wanted.model_alias = {name}
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = int(port)
    wanted.n_ctx = CONTEXT
    # One answer at a time, as a person's own computer gives them.
    wanted.n_parallel = 1
    # Two threads that wait for each other starve on a machine that is busy with others.
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
    # What was read before changes how the rest is computed, by a hair: the same question must get the same answer.
    wanted.cache_prompt = False
    wanted.cache_ram_mib = 0
    wanted.api_keys = [sys.stdin.readline().strip()]
    wanted.endpoint_slots = wanted.endpoint_metrics = True
    server = xllamacpp.Server(wanted)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
