import BLE
import Testing

@testable import BLEProfiles

/// A call of a profile, on a peripheral that may be out of range.
struct ProfileCall: Sendable, CustomTestStringConvertible {
    /// The declaration: `Scripts/awaits` compares it with the public API.
    let name: String
    let run: @Sendable (Peripheral) async throws -> Void

    var testDescription: String { name }

    init(_ name: String, _ run: @escaping @Sendable (Peripheral) async throws -> Void) {
        (self.name, self.run) = (name, run)
    }

    static let all = firstHalf + secondHalf + extensions

    static func glucose(_ peripheral: Peripheral) -> PeripheralService {
        PeripheralService(.glucose, on: peripheral)
    }

    static func fitness(_ peripheral: Peripheral) -> PeripheralService {
        PeripheralService(.fitnessMachine, on: peripheral)
    }

    static func signal(_ peripheral: Peripheral) -> AutomationSignal<UInt16> {
        let uuid = BluetoothUUID(0x2A58)
        return AutomationSignal(
            peripheral: peripheral, characteristic: Characteristic(uuid), discovered: discovered(uuid))
    }

    static func sensor(_ peripheral: Peripheral) -> EnvironmentalSensor<UInt16> {
        let uuid = BluetoothUUID(0x2A6F)
        return EnvironmentalSensor(
            peripheral: peripheral, characteristic: Characteristic(uuid), discovered: discovered(uuid))
    }

    private static func discovered(_ uuid: BluetoothUUID) -> GATTCharacteristic {
        let descriptors: [UInt32] = [0x2901, 0x2904, 0x2906, 0x2909, 0x290A, 0x290B, 0x290C, 0x290D, 0x290E]
        return GATTCharacteristic(
            uuid: uuid, handle: 2, properties: [.read, .write, .notify],
            descriptors: descriptors.enumerated().map {
                GATTDescriptor(uuid: BluetoothUUID($0.element), handle: UInt16(4 + $0.offset))
            })
    }

    /// Extensions of other modules' types in `BLEProfiles`.
    static let extensions = [
        ProfileCall("Peripheral.validRange(of:timeout:)") {
            _ = try await $0.validRange(of: Characteristic<UInt16>(BluetoothUUID(0x2A6F)))
        }
    ]
}
