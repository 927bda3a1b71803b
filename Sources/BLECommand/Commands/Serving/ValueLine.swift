import ArgumentParser
import BLE
import BLEDefinitions
import FoundationEssentials

/// A line of standard input that sets a value: a characteristic and bytes in hexadecimal, or both as JSON.
struct ValueLine {
    private let characteristic: BluetoothUUID
    /// The position among the definition's characteristics of that type, from 1.
    private let number: Int?
    private let service: BluetoothUUID?
    let value: [UInt8]

    /// Throws ``Entry/Mistake``.
    init(_ line: String) throws {
        guard line.contains("{") else {
            let words = line.split(separator: " ")
            guard words.count == 2, let bytes = Hex.bytes(String(words[1])) else { throw Self.notPair }
            let key: CharacteristicArgument
            do {
                key = try CharacteristicArgument(named: String(words[0]))
            } catch let error as ValidationError {
                throw DefinitionError(message: error.message)
            }
            guard let uuid = key.uuid, key.descriptor == nil else { throw Self.notPair }
            (characteristic, number, service, value) = (uuid, key.number, nil, bytes)
            return
        }
        let place = Entry.Place()
        let object = try Entry(text: Data(line.utf8)).object(["uuid", "number", "service", "value", "text"])
        (characteristic, service) = try Entry.$catalog.withValue(.shown) {
            (try object.required("uuid", in: place).characteristic(), try object["service"]?.service())
        }
        number = try object["number"]?.integer(1...65_535)
        if let text = object["text"] {
            guard object["value"] == nil else { throw text.mistake("\"value\" and \"text\" cannot be combined") }
            value = Array(try text.string().utf8)
        } else {
            value = try object.required("value", in: place).bytes()
        }
    }

    private static let notPair = DefinitionError(message: "not a characteristic and a value in hexadecimal")

    /// A characteristic's position in a definition.
    typealias Position = (service: Int, characteristic: Int)

    /// Returns the characteristic whose value the line sets. Throws ``Entry/Mistake`` if there is none, or more than
    /// one.
    func position(in definition: PeripheralDefinition) throws -> Position {
        let all = definition.services.enumerated().flatMap { index, found -> [Position] in
            guard service == nil || found.uuid == service else { return [] }
            return found.characteristics.indices.filter { found.characteristics[$0].uuid == characteristic }.map {
                (index, $0)
            }
        }
        let name = "\(characteristic)" + (service.map { " in \($0)" } ?? "")
        guard let number else {
            guard let first = all.first else {
                throw DefinitionError(message: "the definition has no characteristic \(name)")
            }
            guard all.count == 1 else {
                throw DefinitionError(
                    message: "the definition has \(all.count) characteristics of type \(name): add the number, "
                        + "such as \(characteristic)#2 or \"number\": 2")
            }
            return first
        }
        guard all.indices.contains(number - 1) else {
            throw DefinitionError(message: "the definition has only \(all.count) characteristics of type \(name)")
        }
        return all[number - 1]
    }
}
