import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

/// Uploads to a device that refuses requests for the moment.
@Suite(.hangLimit, .tracesFailures) struct BusyDeviceTests {
    static let temporaryRefusals: [CBORMap] = [["rc": 10], ["rc": 2], ["err": ["group": 1, "rc": 15]]]

    @Test(arguments: temporaryRefusals)
    func `a device that is busy receives the same request again after a pause`(_ refusal: CBORMap) async throws {
        let world = try await SimulatedWorld()
        let (offsets, asked) = (SharedValue<[Int]>([]), SharedValue<[Int]>([]))
        // Refuses the parameters, the beginning and the chunk after it, three times each.
        let device = ScriptedDevice { request in
            let key = request.fields["off"]?.integer ?? -1
            let count = asked.change { asked in
                asked.append(key)
                return asked.count { $0 == key }
            }
            guard count > 3 || key > 32 else { return [request.response(refusal)] }
            guard let offset = request.fields["off"]?.integer, let data = request.fields["data"]?.bytes else {
                return [request.response(["buf_size": 200, "buf_count": 2])]
            }
            offsets.change { $0.append(offset) }
            return [request.response(["off": CBOR(offset + data.count)])]
        }
        let (peripheral, _) = try await world.add(device.definition)
        try await world.run {
            async let upload: Void = FirmwareClient(peripheral).upload(.random(300)).finish()
            await world.clock.run(for: .seconds(40))
            try await upload
        }
        #expect(asked.value.prefix(12) == [-1, -1, -1, -1, 0, 0, 0, 0, 32, 32, 32, 32])
        #expect(offsets.value.starts(with: [0, 32]) && offsets.value == offsets.value.sorted())
        #expect(device.requests.value.map(\.bytes.count).max() == 200)
    }

    @Test func `a device that is busy at first is asked again before an update`() async throws {
        let world = try await SimulatedWorld()
        let update = FirmwareImage.random(100)
        let slot: CBORMap = [
            "slot": 0, "version": "2.0.0", "hash": .bytes(update.hash), "active": true, "confirmed": true,
        ]
        let asked = SharedValue(0)
        let device = ScriptedDevice { request in
            [request.response(asked.next() <= 3 ? ["rc": 10] : ["images": .array([.map(slot)])])]
        }
        let (peripheral, _) = try await world.add(device.definition)
        try await world.run {
            async let updating: Void = FirmwareClient(peripheral).update(update, reconnects: 0)
            await world.clock.run(for: .seconds(5))
            try await updating
        }
        #expect(device.requests.value.allSatisfy { $0.header.command == SMPCommand(.image, 0) })
        #expect(asked.value == 5)
    }

    @Test func `a device that stays busy ends the upload`() async throws {
        let world = try await SimulatedWorld()
        let device = ScriptedDevice { request in
            [request.response(request.header.command.group == .os ? ["rc": 8] : ["rc": 10])]
        }
        let (peripheral, _) = try await world.add(device.definition)
        let failure = await world.run {
            async let failing = expectError(.managementFailed) {
                try await FirmwareClient(peripheral).upload(.random(100)).finish()
            }
            // One request for the parameters, and one for the beginning before each pause and after the last one.
            await world.clock.run(for: .seconds(39))
            #expect(device.requests.value.count == 9)
            await world.clock.run(for: .seconds(1))
            #expect(device.requests.value.count == 10)
            return await failing
        }
        #expect(failure?.managementFailure == SMPFailure(.busy) && failure?.isRetryable == true)
    }

    @Test func `an upload that pauses ends with its task`() async throws {
        let world = try await SimulatedWorld()
        let device = ScriptedDevice { [$0.response(["rc": 10])] }
        let (peripheral, _) = try await world.add(device.definition)
        let task = Task { try await FirmwareClient(peripheral).upload(.random(100)).finish() }
        await world.clock.sleepers(1, for: .milliseconds(500))
        task.cancel()
        await expectError(.cancelled) { try await task.value }
    }

    @Test func `a file whose device is busy at first goes on, and does not begin anew`() async throws {
        let world = try await SimulatedWorld()
        // The hash in an image is that of its header and its program.
        let image = FirmwareImage.random(68)
        let bytes = image.bytes
        let (asked, offsets) = (SharedValue(0), SharedValue<[Int]>([]))
        let device = ScriptedDevice { request in
            switch request.header.command {
            case SMPCommand(.file, 1):
                return [request.response(asked.next() == 1 ? ["rc": 10] : ["len": 100])]
            case SMPCommand(.file, 2):
                return [request.response(["output": .bytes(image.hash)])]
            case SMPCommand(.file, 0):
                let offset = request.fields["off"]!.integer!
                offsets.change { $0.append(offset) }
                return [request.response(["off": CBOR(offset + request.fields["data"]!.bytes!.count)])]
            default: return [request.response(["rc": 8])]
            }
        }
        let (peripheral, _) = try await world.add(device.definition)
        try await world.run {
            async let upload: Void = FirmwareClient(peripheral).upload(bytes, toFile: "/a").finish()
            await world.clock.run(for: .seconds(2))
            try await upload
        }
        #expect(offsets.value.first == 100)
    }
}
