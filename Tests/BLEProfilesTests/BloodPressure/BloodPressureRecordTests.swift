import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct BloodPressureRecordTests {
    private static let type = BluetoothUUID(0x2B34)

    private func part(
        _ counter: UInt8, _ bytes: [UInt8], first: Bool = false, last: Bool = false, number: UInt16 = 7
    ) -> BloodPressureRecordSegment {
        BloodPressureRecordSegment(
            isFirst: first, isLast: last, counter: counter, sequenceNumber: number, characteristic: Self.type,
            bytes: bytes)
    }

    @Test func `a part has a header, the number and the type`() throws {
        let bytes: [UInt8] = [0x07, 0x02, 0x01, 0x34, 0x2B, 9, 8]
        let segment = BloodPressureRecordSegment(
            isFirst: true, isLast: true, counter: 1, sequenceNumber: 0x0102, characteristic: Self.type, bytes: [9, 8])
        #expect(try BloodPressureRecordSegment(bytes: bytes) == segment)
        #expect(try segment.encoded() == bytes)
        for count in 0..<5 {
            #expect(throws: BLEError.self) { try BloodPressureRecordSegment(bytes: Array(bytes.prefix(count))) }
        }
    }

    @Test func `parts are merged, also where the counter restarts`() {
        var merger = BloodPressureRecordMerger(hasChecksum: true)
        #expect(merger.add(part(63, [1, 2], first: true)) == nil)
        #expect(merger.add(part(0, [3])) == nil)
        let record = merger.add(part(1, [4, 0xCD, 0xAB], last: true))
        #expect(
            record
                == BloodPressureRecord(
                    sequenceNumber: 7, characteristic: Self.type, value: [1, 2, 3, 4], checksum: 0xABCD))
    }

    @Test func `a record without one of its parts is left out, the next is whole`() {
        var merger = BloodPressureRecordMerger(hasChecksum: false)
        _ = merger.add(part(0, [1], first: true))
        #expect(merger.add(part(2, [3], last: true)) == nil)
        #expect(merger.add(part(3, [4], last: true)) == nil)
        _ = merger.add(part(4, [5], first: true))
        #expect(merger.add(part(5, [6], last: true, number: 8)) == nil)
        #expect(merger.add(part(6, [9], first: true, last: true))?.value == [9])
        var checked = BloodPressureRecordMerger(hasChecksum: true)
        #expect(checked.add(part(0, [1], first: true, last: true)) == nil)
    }

    @Test(arguments: [false, true]) func `a meter's records are fetched`(_ hasChecksum: Bool) async throws {
        let world = try await SimulatedWorld()
        let measurement = EnhancedBloodPressureMeasurement(
            BloodPressures(systolic: MedFloat16(120), diastolic: MedFloat16(80), meanArterial: MedFloat16(93)))
        let value = try measurement.encoded()
        let feature: BloodPressureFeature = hasChecksum ? .endToEndCRC : []
        let (device, peripheral) = try await RecordDevice.make(
            world, .bloodPressure, sending: [BluetoothUUID(0x2B36)],
            others: [try CharacteristicDefinition(.bloodPressureFeature, .read, value: feature)]
        ) { device, request in
            let bytes = value + (hasChecksum ? [0x34, 0x12] : [])
            for number in UInt16(3)...4 {
                try await device.send(
                    part(0, Array(bytes.prefix(3)), first: true, number: number), from: .bloodPressureRecord)
                try await device.send(
                    part(1, Array(bytes.dropFirst(3)), last: true, number: number), from: .bloodPressureRecord)
            }
            try await device.answer(request, .success)
        }
        let records = try await BloodPressure(peripheral).records(.sequenceNumbers(after: 2))
        #expect(records.map(\.sequenceNumber) == [3, 4])
        #expect(records.map(\.checksum) == (hasChecksum ? [0x1234, 0x1234] : [nil, nil]))
        #expect(records.first?.measurement == measurement)
        #expect(device.requests.value.count == 1)
    }
}
