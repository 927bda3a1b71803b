import BLE
import BLEProfiles

/// A characteristic with a typed value, and its coding: for tests of all of them, here and in Tests/Tools/Fuzz.
struct TypedValue: Sendable {
    let uuid: BluetoothUUID
    /// The value that bytes encode.
    let decode: @Sendable ([UInt8]) throws -> any Sendable
    /// The encoding of the decoded bytes: the same bytes, or others with the same meaning.
    let recode: @Sendable ([UInt8]) throws -> [UInt8]

    init<Value>(_ characteristic: Characteristic<Value>) {
        uuid = characteristic.key.characteristic
        let coding = characteristic.coding
        decode = { try coding.decode($0) }
        recode = { try coding.encode(coding.decode($0)) }
    }
}

/// The typed values of BLEProfiles, by field, such as `TypedValues.health` in TypedValues+Health.swift.
enum TypedValues {
    static let basics: [TypedValue] = [
        TypedValue(.deviceName), TypedValue(.appearance),
        TypedValue(.manufacturerName), TypedValue(.modelNumber), TypedValue(.serialNumber),
        TypedValue(.hardwareRevision), TypedValue(.firmwareRevision), TypedValue(.softwareRevision),
        TypedValue(.systemID), TypedValue(.regulatoryCertifications), TypedValue(.pnpID),
        TypedValue(.heartRateMeasurement), TypedValue(.bodySensorLocation), TypedValue(.heartRateControlPoint),
    ]

    /// The typed values of all keys of BLEProfiles.
    static let all = basics + fitness + health + everyday
}
