import BLE
import BLEBlueZ
import BLESimulation
import Glibc
import Observation

let usage = """
    usage: monitor [--simulated] [ADDRESS...]

    Shows the peripherals in range with their readings. Connects to those with the given addresses, and shows their
    heart rate and battery level. Ctrl-C ends it.
    """
var arguments = CommandLine.arguments.dropFirst()
let isSimulated = arguments.first == "--simulated"
if isSimulated { arguments.removeFirst() }
guard arguments.allSatisfy({ !$0.hasPrefix("-") }) else {
    print(usage)
    exit(64)
}
let chosen = arguments.map { Peripheral.ID(rawValue: $0) }

/// Shows the peripherals until the task is cancelled.
@MainActor @Sendable func show(_ central: Central) async throws {
    let monitor = Monitor(central, chosen: chosen)
    var screen = Screen(isTerminal: isatty(STDOUT_FILENO) == 1)
    print(screen.begin(), terminator: "")
    defer {
        print(screen.end(), terminator: "")
        fflush(nil)
    }
    let updates = Task { try await monitor.run() }
    // An element for each change of what the lines are made of, of several at once only one.
    let drawing = Task {
        for await lines in Observations({ monitor.lines }) where !Task.isCancelled {
            print(screen.update(to: lines), terminator: "")
            fflush(nil)
        }
    }
    defer { drawing.cancel() }
    try await withTaskCancellationHandler {
        try await updates.value
    } onCancel: {
        // What was known last stays on the screen.
        drawing.cancel()
        updates.cancel()
    }
}

// Until SIGINT or SIGTERM; then the links end, and the cursor is back.
await runProgram {
    if isSimulated {
        let radio = await SimulatedRadio.demonstration()
        try await withCentral(backend: .simulated(radio)) { central in try await show(central) }
    } else {
        try await withCentral(waits: true) { central in try await show(central) }
    }
}
