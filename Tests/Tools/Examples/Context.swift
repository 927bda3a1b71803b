// Declarations that the examples of the documentation use. A copy is at the beginning of each example.
import BLE
import BLEAssignedNumbers
import BLEBTHome
import BLEBackendTesting
import BLEBeacons
import BLEBlueZ
import BLEDefinitions
import BLEESPHome
import BLEFakeBlueZ
import BLEFeatures
import BLEFirmware
import BLEObservation
import BLEProfiles
import BLEProxy
import BLERecording
import BLESimulation
import BLETesting
import BLETransfers
import Dispatch
import Foundation
import Glibc
import Logging
import Testing

private func given<Value>() -> Value { fatalError("examples are only compiled") }

private let central: Central = given()
private let peripheral: Peripheral = given()
private let strap: Peripheral = given()
private let host: PeripheralHost = given()
private let id: Peripheral.ID = given()
private let uuid: BluetoothUUID = given()
private let key: CharacteristicKey = given()
private let bytes: [UInt8] = given()
private let payload: [UInt8] = given()
private let found: Discovery = given()
private let radio: SimulatedRadio = given()
private let clock: ManualClock = given()
private let data: Data = given()
private func show(_ things: Any...) {}
private func ask(_ question: String) async -> String { given() }
private func agree(_ question: String) async -> Bool { given() }
