private let office: BluetoothUUID = given()
