import BLETesting
import Foundation
import Testing

@testable import BLECommand

@Suite(.hangLimit)
struct ServiceManagerTests {
    private let directory = FileManager.default.temporaryDirectory.path

    private func path() -> String { "\(directory)/notify-\(String(UInt64.random(in: 0 ... .max), radix: 36))" }

    @Test(arguments: ["/", "@"])
    func `a message arrives at a path and at an abstract name`(kind: String) async throws {
        let path = path()
        let manager = try TestServiceManager(kind == "@" ? "@\(path)" : path)
        let service = try #require(ServiceManager(["NOTIFY_SOCKET": manager.address], process: 1))
        #expect(service.send("READY=1\nSTATUS=°"))
        manager.read()
        try await manager.messages.until { $0 == ["READY=1\nSTATUS=°"] }
    }

    @Test func `a service manager that does not read, or is gone, is not waited for`() async throws {
        let manager = try TestServiceManager(path())
        let service = try #require(ServiceManager(["NOTIFY_SOCKET": manager.address], process: 1))
        var sent = 0
        while sent < 1_000_000, service.send("WATCHDOG=1") { sent += 1 }
        #expect(sent > 0 && sent < 1_000_000)
        manager.read()
        try await manager.messages.until { [sent] in $0.count == sent }
        #expect(service.send("WATCHDOG=1"))
        manager.close()
        #expect(!service.send("WATCHDOG=1"))
    }

    @Test(arguments: [
        nil, "", "@", "notify", "vsock:2:1", "/" + String(repeating: "a", count: 107),
        "@" + String(repeating: "a", count: 107),
    ])
    func `no address, or one of another kind, is no service manager`(address: String?) {
        #expect(ServiceManager(address.map { ["NOTIFY_SOCKET": $0] } ?? [:], process: 1) == nil)
    }

    @Test(arguments: [
        ([:], nil), (["WATCHDOG_USEC": "30000000"], Duration.seconds(15)),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], .seconds(15)),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "x"], nil), (["WATCHDOG_USEC": "0"], nil),
        (["WATCHDOG_USEC": "-5"], nil), (["WATCHDOG_USEC": "soon"], nil),
    ])
    func `signs of life are for this process, at half of the limit`(
        environment: [String: String], interval: Duration?
    ) throws {
        let environment = environment.merging(["NOTIFY_SOCKET": "/run/notify"]) { $1 }
        let service = try #require(ServiceManager(environment, process: 7))
        #expect(service.watchdogInterval == interval)
    }
}
