import threading

from warpsmith.compile.gate import Gate


def test_shutting_waits_for_those_inside_and_holds_back_others():
    gate, entered, leave, second = Gate(), threading.Event(), threading.Event(), threading.Event()
    shut = threading.Event()

    def first():
        with gate:
            entered.set()
            leave.wait(10)

    def other():
        with gate:
            second.set()

    def shutter():
        gate.shut()
        shut.set()

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert entered.wait(10)
    threads.append(threading.Thread(target=shutter))
    threads[1].start()
    assert not shut.wait(0.05)
    leave.set()
    assert shut.wait(10)
    threads.append(threading.Thread(target=other))
    threads[2].start()
    assert not second.wait(0.05)
    gate.open()
    assert second.wait(10)
    for thread in threads:
        thread.join(10)
