import BLE
import BLEDefinitions
import Testing

@testable import BLEProxy

/// The protocol with a Matter server, without a radio.
struct MatterSessionTests {
    private typealias Action = MatterSession.Action
    private let device: Peripheral.ID = "C0:00:00:00:00:01"
    private let service = BluetoothUUID(0xFFF6)

    private func session(limit: Int = 2) -> MatterSession {
        var session = MatterSession(limit: limit)
        #expect(session.receive(text: Array(#"{"type":"hello_response","version":1}"#.utf8)) == [.greeted])
        return session
    }

    private func receive(_ text: String, _ session: inout MatterSession) -> [Action] {
        session.receive(text: Array(text.utf8))
    }

    private func advertisement(_ byte: UInt8 = 0, rssi: Int? = -50) -> Advertisement {
        Advertisement(rssi: rssi, serviceData: [service: [byte]])
    }

    /// Begins a scan, and finds devices.
    private func scan(_ devices: Peripheral.ID..., in session: inout MatterSession) {
        #expect(receive(#"{"id":100,"command":"start_scan"}"#, &session) == [.startScan])
        #expect(session.scanBegan() == [.success(100)])
        for device in devices { #expect(session.discovered(device, advertisement()) != nil) }
    }

    /// Makes a link.
    private func link(_ device: Peripheral.ID, in session: inout MatterSession) -> UInt16 {
        let actions = receive(#"{"id":200,"command":"connect","args":{"address":"\#(device)"}}"#, &session)
        guard case .connect(let link, device, timeout: .seconds(30))? = actions.first else {
            Issue.record("\(actions)")
            return 0
        }
        #expect(
            session.linkBegan(link, mtu: 247) == [.success(200, ["connection_handle": .int(Int(link)), "mtu": 247])])
        return link
    }

    private func code(_ actions: [Action]) -> String? {
        guard case .send(.text(.object(let object)))? = actions.last, case .string(let code)? = object["error"] else {
            return nil
        }
        return code
    }

    @Test(
        arguments: [
            (#"{"type":"hello_response","version":2}"#, MatterSession.Failure.otherVersion(2)),
            (#"{"type":"hello_response","version":2,"error":"unsupported_version"}"#, .otherVersion(2)),
            (#"{"type":"hello_response"}"#, .violation("its greeting has no version")),
            (#"{"type":"hello_response","version":"1"}"#, .violation("its greeting has no version")),
            (#"{"type":"hello_response","version":1.5}"#, .violation("its greeting has no version")),
            // It names the version that it refuses.
            (#"{"type":"hello_response","version":1,"error":"unsupported_version"}"#, .refused("unsupported_version")),
            (
                #"{"type":"hello_response","version":1,"error":"x","message":"a\u001bb\nc"}"#,
                .refused("a\u{FFFD}b\u{FFFD}c")
            ),
            (#"{"type":"hello_response","version":1,"error":"full","message":"no room"}"#, .refused("no room")),
            (#"{"id":1,"command":"stop_scan"}"#, .violation("its first message is not its greeting")),
            ("hello", .violation("a message is not a JSON object")),
            ("[]", .violation("a message is not a JSON object")),
        ] as [(String, MatterSession.Failure)])
    func `a greeting may be refused`(_ text: String, _ failure: MatterSession.Failure) {
        var session = MatterSession(limit: 1)
        #expect(receive(text, &session) == [.fail(failure)])
        #expect(!session.hasGreeted)
    }

    @Test func `a server's reason is told up to 200 characters`() {
        var session = MatterSession(limit: 1)
        let reason = String(repeating: "x", count: 201)
        let actions = receive(#"{"type":"hello_response","version":1,"error":"\#(reason)"}"#, &session)
        #expect(actions == [.fail(.refused(String(reason.dropLast())))])
    }

    @Test(
        arguments: [
            (#"{"id":1,"command":"fly"}"#, "internal_error"), (#"{"id":1,"command":"connect"}"#, "internal_error"),
            (#"{"id":1,"command":"connect","args":[]}"#, "internal_error"),
            (#"{"id":1,"command":"connect","args":{"address":7}}"#, "internal_error"),
            (#"{"id":1,"command":"connect","args":{"address":"hub"}}"#, "device_not_found"),
            (#"{"id":1,"command":"connect","args":{"address":"C0:00:00:00:00:01"}}"#, "device_not_found"),
            (#"{"id":1,"command":"connect","args":{"address":"C0:00:00:00:00:01","timeout":0}}"#, "internal_error"),
            (#"{"id":1,"command":"disconnect","args":{"connection_handle":1}}"#, "not_connected"),
            (#"{"id":1,"command":"disconnect","args":{"connection_handle":"1"}}"#, "internal_error"),
            (#"{"id":1,"command":"disconnect","args":{"connection_handle":1.5}}"#, "internal_error"),
            (#"{"id":1,"command":"request_mtu","args":{"connection_handle":-1}}"#, "not_connected"),
            (#"{"id":1,"command":"request_mtu","args":{"connection_handle":70000}}"#, "not_connected"),
            (#"{"id":1,"command":"read_characteristic","args":{"connection_handle":1}}"#, "internal_error"),
            (
                #"{"id":1,"command":"write_characteristic","args":{"connection_handle":1,"characteristic_uuid":"2a19","value":"*"}}"#,
                "internal_error"
            ),
            (
                #"{"id":1,"command":"write_characteristic","args":{"connection_handle":1,"characteristic_uuid":"2a19","value":"AA==","response":1}}"#,
                "internal_error"
            ),
            (#"{"id":1,"command":"stop_scan"}"#, "not_scanning"),
            (#"{"id":1,"command":"start_scan","args":{"service_uuids":"fff6"}}"#, "internal_error"),
            (#"{"id":1,"command":"start_scan","args":{"service_uuids":["x"]}}"#, "internal_error"),
            (#"{"id":1,"command":"start_scan","args":{"service_uuids":["180d"]}}"#, "internal_error"),
            (#"{"id":1,"command":"start_scan","args":{"allow_duplicates":"no"}}"#, "internal_error"),
        ])
    func `a command that makes no sense is answered`(_ text: String, _ expected: String) {
        var session = session()
        let actions = receive(text, &session)
        #expect(actions.count == 1)
        #expect(code(actions) == expected)
    }

    @Test(arguments: [#"{}"#, #"{"id":"1","command":"stop_scan"}"#, #"{"id":1}"#, #"{"id":1,"command":2}"#])
    func `an object that is no command is ignored`(_ text: String) {
        var session = session()
        #expect(receive(text, &session) == [])
    }

    @Test func `a value that is longer than an attribute is refused`() {
        var session = session()
        let value = String(repeating: "AAAA", count: 171)
        let text =
            #"{"id":1,"command":"write_characteristic","args":{"connection_handle":1,"characteristic_uuid":"2a19","value":""#
        #expect(code(receive(text + value + #""}}"#, &session)) == "write_failed")
    }

    @Test func `only changes are told, unless duplicates are wanted, and each scan begins anew`() {
        var session = session()
        #expect(session.discovered(device, advertisement()) == nil)
        let start = #"{"id":1,"command":"start_scan","args":{"service_uuids":["FFF6"],"allow_duplicates":false}}"#
        for _ in 0..<2 {
            #expect(receive(start, &session) == [.startScan])
            #expect(code(receive(start, &session)) == "already_scanning")
            #expect(session.scanBegan() == [.success(1)])
            #expect(session.discovered(device, advertisement()) != nil)
            #expect(session.discovered(device, advertisement(rssi: -70)) == nil)
            #expect(session.discovered(device, advertisement(1)) != nil)
            #expect(session.discovered("C0:00:00:00:00:02", Advertisement(serviceUUIDs: [service])) == nil)
            #expect(receive(#"{"id":2,"command":"stop_scan"}"#, &session) == [.stopScan])
            #expect(code(receive(#"{"id":3,"command":"stop_scan"}"#, &session)) == "not_scanning")
            #expect(session.discovered(device, advertisement(2)) == nil)
            #expect(session.scanEnded(.cancelled) == [.send(.success(2))])
        }
        scan(device, in: &session)
        #expect(session.discovered(device, advertisement()) != nil)
    }

    @Test func `a scan that fails or is stopped early is answered once`() {
        var session = session()
        let failure = BLEError(.poweredOff, "off")
        #expect(receive(#"{"id":1,"command":"start_scan"}"#, &session) == [.startScan])
        #expect(session.scanEnded(failure) == [.send(.failure(1, MatterRefusal(.bluetoothUnavailable, "off")))])
        #expect(receive(#"{"id":2,"command":"start_scan"}"#, &session) == [.startScan])
        #expect(receive(#"{"id":3,"command":"stop_scan"}"#, &session) == [.stopScan])
        let stopped = MatterRefusal(.internalError, "the scan was stopped")
        #expect(session.scanEnded(.cancelled) == [.send(.failure(2, stopped)), .send(.success(3))])
        scan(in: &session)
        #expect(session.scanEnded(failure) == [.send(.scanStopped("off"))])
        #expect(session.scanEnded(failure) == [])
    }

    @Test(arguments: [false, true]) func `a scan that is asked for while one ends begins after it`(_ isEarly: Bool) {
        var session = session()
        #expect(receive(#"{"id":1,"command":"start_scan"}"#, &session) == [.startScan])
        if !isEarly { #expect(session.scanBegan() == [.success(1)]) }
        #expect(receive(#"{"id":2,"command":"stop_scan"}"#, &session) == [.stopScan])
        let start = #"{"id":3,"command":"start_scan","args":{"allow_duplicates":false}}"#
        #expect(receive(start, &session) == [])
        #expect(code(receive(#"{"id":4,"command":"start_scan"}"#, &session)) == "already_scanning")
        if isEarly { #expect(session.scanBegan() == [.success(1)]) }
        #expect(session.scanEnded(.cancelled) == [.send(.success(2)), .startScan])
        #expect(session.scanBegan() == [.success(3)])
        #expect(session.discovered(device, advertisement()) != nil)
        #expect(session.discovered(device, advertisement()) == nil)
        // One that has not begun is stopped at once.
        #expect(receive(#"{"id":5,"command":"stop_scan"}"#, &session) == [.stopScan])
        #expect(receive(#"{"id":6,"command":"start_scan"}"#, &session) == [])
        let stopped = MatterRefusal(.internalError, "the scan was stopped")
        #expect(
            receive(#"{"id":7,"command":"stop_scan"}"#, &session)
                == [.send(.failure(6, stopped)), .send(.success(7))])
        #expect(code(receive(#"{"id":8,"command":"stop_scan"}"#, &session)) == "not_scanning")
        #expect(session.scanEnded(.cancelled) == [.send(.success(5))])
        #expect(receive(#"{"id":9,"command":"start_scan"}"#, &session) == [.startScan])
    }

    @Test func `an attempt to connect that takes too long is answered once, and its link ends`() {
        var session = session(limit: 1)
        scan(device, in: &session)
        let connect = #"{"id":1,"command":"connect","args":{"address":"\#(device)"}}"#
        #expect(receive(connect, &session) == [.connect(link: 1, device, timeout: .seconds(30))])
        let reason = "there was no link within 55.0 seconds"
        #expect(
            session.connectExpired(1, after: .seconds(55))
                == [.send(.failure(1, MatterRefusal(.timeout, reason))), .end(link: 1, reason: reason)])
        #expect(session.connectExpired(1, after: .seconds(55)) == [])
        #expect(session.linkBegan(1, mtu: 247) == [])
        // It counts until it has ended, which the server is not told: it does not know its number.
        #expect(code(receive(connect, &session)) == "connection_failed")
        #expect(session.linkEnded(1, .cancelled, reason: reason) == [])
        #expect(receive(connect, &session) == [.connect(link: 2, device, timeout: .seconds(30))])
        #expect(session.linkBegan(2, mtu: 247).count == 1)
        #expect(session.connectExpired(2, after: .seconds(55)) == [])
    }

    @Test func `the devices that are remembered are bounded`() {
        var session = session()
        scan(in: &session)
        for number in 0...MatterSession.maximumDevices {
            let digits = String(number + 0x1_0000, radix: 16).uppercased().suffix(4)
            let id = Peripheral.ID(rawValue: "C0:00:00:00:\(digits.prefix(2)):\(digits.suffix(2))")
            #expect(session.discovered(id, advertisement()) != nil)
            // One that is heard again and again is not forgotten.
            #expect(session.discovered("C0:00:00:00:00:00", advertisement()) != nil)
        }
        func connect(_ id: String) -> [Action] {
            receive(#"{"id":1,"command":"connect","args":{"address":"\#(id)"}}"#, &session)
        }
        #expect(code(connect("C0:00:00:00:00:01")) == "device_not_found")
        #expect(code(connect("C0:00:00:00:00:00")) == nil)
        #expect(code(connect("C0:00:00:00:00:02")) == nil)
    }

    @Test func `links have a limit and a number each, and one device has one link`() {
        var session = session(limit: 2)
        let others: [Peripheral.ID] = ["C0:00:00:00:00:02", "C0:00:00:00:00:03"]
        scan(device, others[0], others[1], in: &session)
        let first = link(device, in: &session)
        #expect(first == 1)
        func connect(_ device: Peripheral.ID) -> [Action] {
            receive(#"{"id":1,"command":"connect","args":{"address":"\#(device)","timeout":99999999}}"#, &session)
        }
        #expect(code(connect(device)) == "already_connected")
        #expect(connect(others[0]) == [.connect(link: 2, others[0], timeout: .seconds(55))])
        let refused = connect(others[1])
        #expect(refused.first == .linkRefused(others[1]))
        #expect(code(refused) == "connection_failed")
        // It counts until it has ended.
        let end = #"{"id":5,"command":"disconnect","args":{"connection_handle":1}}"#
        #expect(receive(end, &session) == [.end(link: 1, reason: nil)])
        #expect(code(receive(end, &session)) == "not_connected")
        #expect(code(connect(others[1])) == "connection_failed")
        #expect(session.linkEnded(1, .cancelled) == [.success(5)])
        #expect(connect(others[1]) == [.connect(link: 3, others[1], timeout: .seconds(55))])
        #expect(session.linkEnded(2, BLEError(.timedOut, "late")) == [.failure(1, MatterRefusal(.timeout, "late"))])
        #expect(session.linkCount == 1)
    }

    @Test func `the end of a link answers what waits, once`() {
        var session = session()
        scan(device, in: &session)
        let link = link(device, in: &session)
        #expect(
            receive(#"{"id":7,"command":"discover_services","args":{"connection_handle":1}}"#, &session)
                == [.perform(.discoverServices, number: 1, link: link)])
        #expect(session.receive(binary: [1, 0, 1, 9]) == [.perform(.writePayload([9]), number: 2, link: link)])
        #expect(
            receive(#"{"id":7,"command":"request_mtu","args":{"connection_handle":1}}"#, &session)
                == [.perform(.readMTU, number: 3, link: link)])
        #expect(session.finished(2, .success([:]), on: link) == nil)
        let gone = MatterRefusal(.notConnected, "the link has ended")
        #expect(
            session.linkEnded(link, BLEError(.disconnected, "gone"))
                == [.failure(7, gone), .failure(7, gone), .disconnected(1, "gone")])
        #expect(session.finished(1, .success([:]), on: link) == nil)
        #expect(session.linkEnded(link, .cancelled) == [])
        // What comes too late is not told again.
        #expect(session.receive(binary: [1, 0, 1, 9]) == [])
    }

    @Test func `what waits is bounded: commands are refused, and writes end the link`() {
        var session = session()
        scan(device, in: &session)
        let link = link(device, in: &session)
        let text = #"{"id":7,"command":"request_mtu","args":{"connection_handle":1}}"#
        for _ in 0..<MatterSession.maximumWaiting { #expect(code(receive(text, &session)) == nil) }
        #expect(code(receive(text, &session)) == "internal_error")
        #expect(session.receive(binary: [1, 0, 1]) == [.end(link: link, reason: "too many writes wait")])
        #expect(session.receive(binary: [1, 0, 1]) == [])
        let frames = session.linkEnded(link, .cancelled, reason: "too many writes wait")
        #expect(frames.count == MatterSession.maximumWaiting + 1)
        #expect(frames.last == .disconnected(1, "too many writes wait"))
    }

    @Test func `a payload that is too long ends its link, and a binary message without a header the connection`() {
        var session = session()
        scan(device, in: &session)
        let link = link(device, in: &session)
        let payload = [UInt8](repeating: 0, count: 513)
        #expect(session.receive(binary: [1, 0, 1] + payload) == [.end(link: link, reason: "a write was too long")])
        for bytes: [UInt8] in [[], [1, 0], [9, 0]] {
            #expect(session.receive(binary: bytes) == [.fail(.violation("a binary message has no header"))])
        }
        for bytes: [UInt8] in [[2, 0, 1], [3, 0, 1, 5], [0, 0, 1], [9, 0, 1]] {
            #expect(session.receive(binary: bytes) == [.ignored(opcode: bytes[0])])
        }
        var early = MatterSession(limit: 1)
        #expect(early.receive(binary: [1, 0, 1]) == [.fail(.violation("its first message is not its greeting"))])
    }
}
