import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The command line tool on the real bluetoothd; inside `Scripts/with-bluez` only.
@Suite(
    .enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
struct RealCommandLineTests {
    @Test func `heart-rate prints the measurements that the strap sent`() async throws {
        // The strap counts up by one with each measurement, from 72 to 180.
        #expect(Guest.shell("/run/bluez/peerctl reset") == 0)
        let result = try await Tool.run("heart-rate", "--json", "--count", "5")
        #expect(result.status == 0)
        let beats = try result.objects.compactMap { $0["beatsPerMinute"] as? Int }
        let first = try #require(beats.first)
        #expect(beats == Array(first..<first + 5))
    }

    @Test func `the death of bluetoothd ends heart-rate with 20`() async throws {
        let result = try await Tool(["heart-rate", "--json"]).afterFirstLine { _ in
            #expect(Guest.shell("/run/bluez/kill") == 0)
        }
        #expect(result.status == 20)
        #expect(Guest.shell("/run/bluez/start") == 0)
        // The new bluetoothd may have taken over the link; see Docs/Testing.md.
        #expect(
            Guest.shell(
                "until [ $(/run/bluez/peerctl connections) = 0 ]; do /run/bluez/peerctl disconnect || true; done")
                == 0)
    }

    /// The levels of a check's findings.
    private func levels(_ check: String, _ result: Tool.Result) throws -> [String] {
        try result.objects.filter { $0["check"] as? String == check }.compactMap { $0["level"] as? String }
    }

    @Test func `the doctor finds nothing wrong, and the link that another program has`() async throws {
        let alone = try await Tool.run("doctor", "--json")
        #expect(alone.status == 0)
        #expect(try levels("scan", alone) == ["ok"])
        #expect(try levels("links", alone) == ["ok"])
        #expect(alone.output.contains("bluetoothd 5."))
        let result = try await Tool(["heart-rate", "--json"]).afterFirstLine { program in
            let doctor = try await Tool.run("doctor", "--json")
            #expect(doctor.status == 0)
            #expect(try levels("links", doctor) == ["note"])
            #expect(doctor.output.contains("Bumble HR (F0:F1:F2:F3:F4:F5)"))
            program.send(.interrupt)
        }
        #expect(result.status == 130)
    }

    @Test func `the doctor sees what is switched off, blocked and dead`() async throws {
        #expect(try await Tool.run("adapters", "--power", "off").status == 0)
        let off = try await Tool.run("doctor")
        #expect(off.status == 1)
        #expect(off.output.contains("WRONG  hci0: the adapter is off\n"))
        #expect(Guest.shell("echo 1 > /sys/class/bluetooth/hci0/rfkill*/soft") == 0)
        let blocked = try await Tool.run("doctor")
        #expect(blocked.status == 1)
        #expect(blocked.output.contains("a kill switch blocks it"))
        let refused = try await Tool.run("adapters", "--power", "on")
        #expect(refused.status == 11)
        #expect(refused.errors.contains("rfkill unblock"))
        #expect(Guest.shell("echo 0 > /sys/class/bluetooth/hci0/rfkill*/soft") == 0)
        #expect(try await Tool.run("adapters", "--power", "on").status == 0)
        #expect(Guest.shell("/run/bluez/kill") == 0)
        let dead = try await Tool.run("doctor", "--json")
        #expect(dead.status == 1)
        #expect(try levels("bluetoothd", dead) == ["problem"])
        #expect(Guest.shell("/run/bluez/start") == 0)
        #expect(try await Tool.run("doctor").status == 0)
    }

    @Test func `profile and read show what the strap says, with units`() async throws {
        let live = try await Tool.run("profile", "heart-rate", "Bumble HR", "--count", "2")
        #expect(live.status == 0)
        let lines = live.output.split(separator: "\n")
        #expect(lines.contains("Body Sensor Location: Wrist"))
        #expect(lines.filter { $0.hasPrefix("Heart Rate Measurement: ") && $0.contains(" bpm; ") }.count == 2)
        let information = try await Tool.run("profile", "device-information", "Bumble HR")
        #expect(information.status == 0)
        #expect(information.output.contains("Model Number String: HR-1\n"))
        #expect(try await Tool.run("read", "Bumble HR", "battery-level").output == "57  87 %\n")
    }

    /// The strap's channel 0x0082 takes orders: FF closes it, and so does an invalid order.
    @Test func `channel says whether the strap has closed it before all was sent`() async throws {
        let long = String(repeating: String(repeating: "00", count: 512) + "\n", count: 400)
        let cut = try await Tool(["channel", "Bumble HR", "--psm", "0x82"], input: "00\n" + long).run()
        #expect(cut.status == 15)
        #expect(cut.errors.contains("before all input was sent") || cut.errors.contains("has closed the channel"))
        let whole = try await Tool(["channel", "Bumble HR", "--psm", "0x82"], input: "ff\n").run()
        #expect(whole.status == 0)
        #expect(whole.output == "")
    }

    @Test func `channel --listen takes one channel, and refuses the next`() async throws {
        let arguments = ["channel", "--listen", "--psm", "0x81", "--name", "Listener", "--count", "2"]
        let tool = Tool(arguments, input: "0a0b\n")
        let result = try await tool.run { program in
            try await program.errors.until("accepting a channel at")
            #expect(
                Guest.shell(
                    """
                    central() { /run/bluez/peerctl central 1 "$@"; }
                    central connect && number=$(central channel 0x81 | tr -dc '0-9,' | cut -d, -f1) || exit 1
                    until central channel 0x81 2>&1 | grep -q refused; do sleep 0.1; done
                    central send "$number" 0102 && central send "$number" 03
                    """) == 0)
        }
        #expect(Guest.shell("/run/bluez/peerctl central 1 reset") == 0)
        #expect(result.status == 0)
        #expect(result.output == "0102\n03\n")
    }

    /// The services in a line of `ble diff`, without those that an import leaves out.
    private func services(_ line: Substring) -> Substring? {
        guard line.contains(" discover = ") else { return nil }
        return line.replacing(/180[01]\([^)]*\)\s/, with: "").split(separator: " discover = ").last
    }

    @Test func `a capture of the controller tells what a recording of the same session tells`() async throws {
        let files = "/tmp/\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: files) }
        let (capture, recording) = (files + "/session.btsnoop", files + "/session.jsonl")
        // bluetoothd discovers only what it does not know.
        let forget = "busctl call org.bluez /org/bluez/hci0 org.bluez.Adapter1 RemoveDevice o"
        let device = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5"
        #expect(Guest.shell("\(forget) \(device); btmon -w \(capture) >/dev/null & echo $! >/run/btmon.pid") == 0)
        #expect(Guest.shell("until [ -s \(capture) ]; do sleep 0.1; done") == 0)
        let session = try await Tool.run("heart-rate", "Bumble HR", "--count", "2", "--record", recording)
        #expect(session.status == 0)
        #expect(Guest.shell("kill -INT $(cat /run/btmon.pid)") == 0)
        let difference = try await Tool.run("diff", recording, capture, "--ignore", "advertisements")
        let lines = difference.output.split(separator: "\n")
        // What has no packets, what bluetoothd did by itself, and what depends on what came first: a link that another
        // suite used may have brought its services already, and the session may end before the end of its subscription.
        let expected = lines.filter {
            $0.contains(
                /^- [0-9.]+ (start|adapterState|scan|stopScan|shutDown|\S+ (servicesChanged|unsubscribe))|^\+ .* (attMTU|read 180f\/2a19|read 180a\/2a50|subscribe 180f\/2a19|unsubscribe|disconnect)/
            )
        }
        let others = lines.filter { !expected.contains($0) }
        // The recording has another discovery for each change of services that bluetoothd tells; the capture has packets of the
        // first alone.
        #expect(others.filter { $0.hasPrefix("+") }.count == 1, "\(others.joined(separator: "\n"))")
        #expect(others.contains { $0.hasPrefix("-") }, "\(others.joined(separator: "\n"))")
        #expect(Set(others.map { services($0) }).count == 1)
        #expect(others.first.flatMap { services($0) }?.contains("2a37[notify]/2902") == true)
    }

    @Test func `an interrupt leaves no link`() async throws {
        let result = try await Tool(["heart-rate", "--json"]).afterFirstLine { program in
            program.send(.interrupt)
        }
        #expect(result.status == 130)
        #expect(Guest.shell("[ $(/run/bluez/peerctl connections) = 0 ]") == 0)
    }
}
