"""Telling a process from every later one of its number."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from local_stack.process_start import is_same, start_of


def test_the_start_lies_between_boot_and_now_on_a_clock_that_nobody_sets() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        started = start_of(child.pid)
        after = time.clock_gettime(time.CLOCK_BOOTTIME)
        child.kill()
    assert before - 0.02 <= started <= after + 0.02


def test_a_process_is_the_same_as_long_as_it_runs() -> None:
    started = start_of(os.getpid())
    assert is_same(os.getpid(), started)


def test_a_process_of_another_time_is_another() -> None:
    assert not is_same(os.getpid(), start_of(os.getpid()) - 1)


def test_a_process_that_is_gone_is_named() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    with pytest.raises(psutil.NoSuchProcess, match=str(child.pid)):
        start_of(child.pid)
