internal import BLE
internal import BLEBlueZ
internal import DBus
internal import Glibc
internal import Logging
internal import Loop

/// The cost of knowing the devices of `fake-known`.
enum KnownBenchmark {
    /// Ends when the central knows all devices. The figures are totals of the process: microseconds of processor time and of
    /// time since the start, and bytes of memory.
    @concurrent
    static func run(_ devices: Int) async throws {
        let start = ContinuousClock.now
        // First the memory that the runtime, GLib and an idle connection need.
        let session = BusSession(loop: EventLoop(), logger: Logger(label: "benchmark"), onSignal: { _ in }, onLoss: {})
        try await session.open(.system, timeout: .seconds(10))
        await session.close()
        let before = Memory.resident
        try await withCentral { central in
            let known = await central.knownPeripherals().count
            let wall = (ContinuousClock.now - start) / .microseconds(1)
            let cpu = Measurement.cpuTime
            Memory.trim()
            print(
                known, known == devices ? "complete" : "incomplete", cpu.rounded(), wall.rounded(),
                Memory.resident - before)
        }
    }
}

enum Memory {
    /// Returns free memory to the system, as the other programs do.
    static func trim() {
        // The module of the C library does not declare `malloc_trim`.
        guard let trim = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
    }

    /// The resident memory of this process, in bytes.
    static var resident: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 256)
        let count = fread(&text, 1, text.count, file)
        let numbers = String(decoding: text[..<count], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        return numbers.count > 1 ? numbers[1] * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}
