import BLE
import BLEProfiles

/// A characteristic that has a typed value, and what its type makes of bytes: for tests that go through all of them, here and in
/// Tests/Tools/Fuzz.
struct TypedValue: Sendable {
    let uuid: BluetoothUUID
    /// The value that bytes spell.
    let decode: @Sendable ([UInt8]) throws -> any Sendable
    /// The bytes that spell the value that bytes spell: the same, or others that mean the same.
    let recode: @Sendable ([UInt8]) throws -> [UInt8]

    init<Value>(_ characteristic: Characteristic<Value>) {
        uuid = characteristic.key.characteristic
        let coding = characteristic.coding
        decode = { try coding.decode($0) }
        recode = { try coding.encode(coding.decode($0)) }
    }
}

/// Those of BLEProfiles, by field: `TypedValues.health` in TypedValues+Health.swift.
enum TypedValues {
    static let basics: [TypedValue] = [
        TypedValue(.deviceName), TypedValue(.appearance),
        TypedValue(.manufacturerName), TypedValue(.modelNumber), TypedValue(.serialNumber),
        TypedValue(.hardwareRevision), TypedValue(.firmwareRevision), TypedValue(.softwareRevision),
        TypedValue(.systemID), TypedValue(.regulatoryCertifications), TypedValue(.pnpID),
        TypedValue(.heartRateMeasurement), TypedValue(.bodySensorLocation), TypedValue(.heartRateControlPoint),
    ]

    /// Those of all keys that BLEProfiles has.
    static let all = basics + fitness + health + everyday
}
