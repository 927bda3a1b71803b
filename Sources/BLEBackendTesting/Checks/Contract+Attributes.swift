import BLE
import BLEProfiles
import Testing

extension Contract {
    func reads() async throws {
        try await withStrap { strap in
            #expect(try await Battery(strap).level() == 87)
            #expect(try await HeartRate(strap).bodySensorLocation() == .wrist)
            let information = try await DeviceInformation(of: strap)
            #expect(information.manufacturerName == "ACME")
            #expect(information.modelNumber == "HR-1")
            #expect(information.serialNumber == "0001")
        }
    }

    func missingAttributes() async throws {
        try await withStrap { strap in
            let service = BluetoothUUID(0xFEED)
            let noService = await error {
                _ = try await strap.read(Characteristic(BluetoothUUID(0xBEEF), service: service))
            }
            #expect(noService?.code == .serviceNotFound)
            #expect(noService?.missingUUIDs == [service])
            let noCharacteristic = await error {
                _ = try await strap.read(Characteristic(BluetoothUUID(0xBEEF), service: .battery))
            }
            #expect(noCharacteristic?.code == .characteristicNotFound)
            #expect(noCharacteristic?.missingUUIDs == [BluetoothUUID(0xBEEF)])
            #expect(noCharacteristic?.peripheral == strap.id)
        }
    }

    func writes() async throws {
        try await withStrap { strap in
            try await strap.write([1, 2, 3], to: EchoStrap.input)
            #expect(try await peer.written() == [1, 2, 3])
            #expect(try await strap.read(EchoStrap.output) == [1, 2, 3])
            try await strap.write([4, 5], to: EchoStrap.input, type: .withoutResponse)
            // A command has no answer, but a later request has, and the order is kept.
            #expect(try await strap.read(EchoStrap.output) == [4, 5])
            #expect(try await peer.written() == [4, 5])
            try await strap.write([], to: EchoStrap.input)
            #expect(try await peer.written() == [])
        }
    }

    func longWrites() async throws {
        try await withStrap { strap in
            let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 * 7) }
            try await strap.write(value, to: EchoStrap.input)
            #expect(try await peer.written() == value)
            #expect(try await strap.read(EchoStrap.output) == value)
            let tooLong = await error { try await strap.write(value + [0], to: EchoStrap.input) }
            #expect(tooLong?.code == .invalidLength)
        }
    }

    func forbidden() async throws {
        try await withStrap { strap in
            let writing = await error { try await strap.write(1, to: .batteryLevel) }
            #expect(writing?.code == .notSupported)
            let reading = await error { _ = try await strap.read(EchoStrap.input) }
            #expect(reading?.code == .notSupported)
            let subscribing = await error { _ = try await strap.notifications(EchoStrap.input) }
            #expect(subscribing?.code == .notSupported)
            // Subscriptions write this descriptor, and stacks do not let a program write it directly.
            let configuring = await error {
                try await strap.writeDescriptor([1, 0], to: BluetoothUUID(0x2902), of: EchoStrap.output.key)
            }
            #expect(configuring?.code == .notSupported)
            #expect(configuring?.attError == nil)
            let level = try await Battery(strap).level()
            #expect(level == 87)
        }
    }

    func descriptors() async throws {
        try await withStrap { strap in
            let text = try await strap.readDescriptor(BluetoothUUID(0x2901), of: EchoStrap.output.key)
            #expect(String(decoding: text, as: UTF8.self) == "Echo out")
            let missing = await error {
                _ = try await strap.readDescriptor(BluetoothUUID(0x2904), of: EchoStrap.output.key)
            }
            #expect(missing?.code == .characteristicNotFound)
        }
    }

    func cancelledOperations() async throws {
        try await withStrap { strap in
            let operations: [@Sendable () async throws -> Void] = [
                { _ = try await strap.read(EchoStrap.slow) }, { try await strap.write([1], to: EchoStrap.slow) },
            ]
            for operation in operations {
                try await peer.hold()
                let task = failing(operation)
                try await peer.untilHeld()
                task.cancel()
                #expect(await task.value?.code == .cancelled)
                // The peripheral's late answer has no receiver, and does not affect other operations.
                try await peer.release()
                #expect(try await Battery(strap).level() == 87)
                #expect(try await strap.read(EchoStrap.slow) == Array("slow".utf8))
            }
            let subscribing = failing { _ = try await strap.notifications(EchoStrap.output) }
            subscribing.cancel()
            _ = await subscribing.value
            try await peer.until(subscribers: 0)
            #expect(await strap.connectionState == .connected)
        }
    }

    func deadlines() async throws {
        try await withStrap { strap in
            let error = await error { _ = try await strap.read(EchoStrap.slow, timeout: .milliseconds(200)) }
            #expect(error?.code == .timedOut)
            #expect(error?.isRetryable == true)
            #expect(error?.characteristic == EchoStrap.slow.key.characteristic)
            try await peer.release()
            #expect(try await Battery(strap).level() == 87)
            #expect(try await strap.read(EchoStrap.slow) == Array("slow".utf8))
        }
    }
}
